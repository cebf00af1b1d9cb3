/* Functions of the library that no header declares, because the standard has removed them. */
char *gets(char *line);
