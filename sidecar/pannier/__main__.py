"""`python -m pannier`."""

from pannier.cli import main

main()
