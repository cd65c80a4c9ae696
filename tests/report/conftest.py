from helpers.browsing import browser, visit  # noqa: F401
from helpers.reports import curve_parts, make_report  # noqa: F401
