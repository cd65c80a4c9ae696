from helpers.reports import curve_parts, make_report  # noqa: F401
