"""Thin bridges to where people work; each is imported only where it is asked for."""
