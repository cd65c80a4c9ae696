from helpers.browsing import browser, visit  # noqa: F401
