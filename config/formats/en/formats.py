"""The date format of the back office (settings.FORMAT_MODULE_PATH)."""

DATE_FORMAT = "Y-m-d"
DATETIME_FORMAT = "Y-m-d H:i"
