"""For authors of notebooks: run them in place, keep their files tidy, check them against the course's rules.

python -m tools.notebooks run notebooks/01_what_is_slow.ipynb    execute, keep the outputs, tidy, check
python -m tools.notebooks tidy notebooks/*.ipynb                 only tidy
python -m tools.notebooks check notebooks/*.ipynb                only check
"""
