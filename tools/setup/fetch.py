"""Run inside the environment: fetch SmolLM2 once, so that the tests that need it find it in the cache.

Exit status 3 says that it cannot be had now (no network), which is no fault of the code.
"""

import sys

UNAVAILABLE = 3


def main() -> int:
    """Load the model by name, which downloads, checks and caches it where that was not done before."""
    import labkit
    from labkit.errors import MissingModelError

    try:
        labkit.load("smollm2-135m")
    except MissingModelError as error:
        print(error)
        return UNAVAILABLE
    return 0


if __name__ == "__main__":
    sys.exit(main())
