"""What the grammar says: one file a subject, plain tables of text that are pleasant to read and easy to
change.
"""
