"""One-command set-up: make the environment, install the lock, run what was asked for, explain what went wrong.

Only the standard library is used here: this code runs before anything is installed.
"""
