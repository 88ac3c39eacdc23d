"""What makes the OpenAPI 3.1 document.

`operations` adds to what a view's method says of its call all that follows from the kind of the
view, `components` has the parts that calls share, `extensions` tells drf-spectacular what it cannot
know, and `document` puts it together.
"""
