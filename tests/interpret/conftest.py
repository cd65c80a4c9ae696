from helpers.reports import curve_scores, make_report  # noqa: F401
