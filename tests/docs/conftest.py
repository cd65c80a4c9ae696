from browsing import browser, visit  # noqa: F401
