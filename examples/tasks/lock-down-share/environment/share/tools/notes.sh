Not a program: notes about the programs here.
#!/bin/sh appears only on the second line.
