/* Shows the schema with Swagger UI; nothing is fetched from another host. */
SwaggerUIBundle({
  url: "/schema",
  dom_id: "#docs",
  validatorUrl: null,
  onComplete() {
    // Swagger UI's <main> holds the calls alone; what stands before it is a landmark of its own.
    const about = document.querySelector(".information-container");
    about.setAttribute("role", "region");
    about.setAttribute("aria-label", "About");
  },
});
