"""Checked changes of the C library after which `printf`, `scanf` and `atoi` treat what the standard
leaves undefined as glibc 2.36 does.
"""

from downloads import Substitution

PRINTF = "libc/src/stdio/vfprintf.c"
SCANF = "libc/src/stdio/vfscanf.c"

# A conversion specifier ignores length modifiers that it does not support. An unknown conversion
# specification is printed without its length modifiers.
CONVERSIONS = """\
static unsigned conversion(char **s, unsigned *prefix)
{
	unsigned type;
	int c;
	for (*prefix=BARE;; ++*s, *prefix=type) {
		c = **s;
		if (OOB(c)) return 0;
		type = states[*prefix]S(c=='q' ? 'L' : c=='Z' ? 'z' : c);
		if (type-1>=STOP-1U) break;
	}
	if (!type) switch (c) {
	case 'd': case 'i':
		type = LLONG;
		break;
	case 'o': case 'u': case 'x': case 'X':
		type = ULLONG;
		break;
	case 'b': case 'B':
		type = *prefix==BIGLPRE ? ULLONG : states[*prefix]S('u');
		break;
	case 'e': case 'f': case 'g': case 'a':
	case 'E': case 'F': case 'G': case 'A':
		type = *prefix==LLPRE ? LDBL : DBL;
		break;
	case 'c': case 'C': case 's': case 'S': case 'p': case 'm':
		type = states[BARE]S(c);
	}
	if (type) ++*s;
	return type;
}

static int unknown_conversion(FILE *f, unsigned fl, int w, int p, int c)
{
	static const char flags[] = "#'+ -0I";
	char text[64], digits[sizeof(uintmax_t)*3], *z = digits+sizeof digits, *d;
	int l = 0, i;
	if (fl & MARK_POS) fl &= ~PAD_POS;
	if (fl & LEFT_ADJ) fl &= ~ZERO_PAD;
	text[l++] = '%';
	for (i=0; flags[i]; i++)
		if (fl & (flags[i]=='I' ? I18N : 1U<<flags[i]-' ')) text[l++] = flags[i];
	if (w) for (d=fmt_u(w, z); d<z; d++) text[l++] = *d;
	if (p>=0) {
		text[l++] = '.';
		if (!p) text[l++] = '0';
		for (d=fmt_u(p, z); d<z; d++) text[l++] = *d;
	}
	if (c) text[l++] = c;
	if (f) out(f, text, l);
	return l;
}

"""

CORE = (
    "static int printf_core(FILE *f, const char *fmt, va_list *ap, union arg *nl_arg, "
    "int *nl_type)\n{\n"
)


def printf(reason, old, new):
    return Substitution(PRINTF, reason, old, new)


def scanf(reason, old, new):
    return Substitution(SCANF, reason, old, new)


SUBSTITUTIONS = (
    printf(
        "the flag `I` asks for the digits of the locale",
        "#define FLAGMASK (",
        "#define I18N (1U<<31)\n#define FLAGMASK (",
    ),
    printf(
        "the same",
        "\t\tfor (fl=0; (unsigned)*s-' '<32 && (FLAGMASK&(1U<<*s-' ')); s++)\n"
        "\t\t\tfl |= 1U<<*s-' ';\n",
        "\t\tfor (fl=0; *s=='I' || ((unsigned)*s-' '<32 && (FLAGMASK&(1U<<*s-' '))); s++)\n"
        "\t\t\tfl |= *s=='I' ? I18N : 1U<<*s-' ';\n",
    ),
    printf(
        "binary numbers",
        "S('x') = UINT, S('X') = UINT,\n",
        "S('x') = UINT, S('X') = UINT, S('b') = UINT, S('B') = UINT,\n",
    ),
    printf("the same", "char buf[sizeof(uintmax_t)*3];\n", "char buf[sizeof(uintmax_t)*8];\n"),
    printf(
        "the same",
        "\t\t\tif (0) {\n\t\tcase 'o':\n",
        "\t\t\tif (0) {\n"
        "\t\tcase 'b': case 'B':;\n"
        "\t\t\tuintmax_t rest = arg.i;\n"
        "\t\t\tfor (a=z; rest; rest>>=1) *--a = '0' + (rest&1);\n"
        "\t\t\tif (arg.i && (fl & ALT_FORM)) prefix = t=='b' ? \"0b\" : \"0B\", pl=2;\n"
        "\t\t\t} if (0) {\n\t\tcase 'o':\n",
    ),
    printf("unknown conversion specifications", CORE, CONVERSIONS + CORE + "\tint reported = 0;\n"),
    printf(
        "the same",
        "\t\tst=0;\n"
        "\t\tdo {\n"
        "\t\t\tif (OOB(*s)) goto inval;\n"
        "\t\t\tps=st;\n"
        "\t\t\tst=states[st]S(*s++);\n"
        "\t\t} while (st-1<STOP);\n"
        "\t\tif (!st) goto inval;\n",
        "\t\tst = conversion(&s, &ps);\n"
        "\t\tif (!st && *s=='%') {\n"
        "\t\t\ts++;\n"
        "\t\t\tl = 1;\n"
        "\t\t\tif (f) out(f, \"%\", 1);\n"
        "\t\t\tcontinue;\n"
        "\t\t}\n"
        "\t\tif (!st) {\n"
        "\t\t\tif (!*s && !l10n && !reported) {\n"
        "\t\t\t\tif (f) goto inval;\n"
        "\t\t\t\tbreak;\n"
        "\t\t\t}\n"
        "\t\t\treported = 1;\n"
        "\t\t\tl = unknown_conversion(f, fl, w, xp ? p : -1, *s);\n"
        "\t\t\tif (*s) s++;\n"
        "\t\t\tcontinue;\n"
        "\t\t}\n",
    ),
    printf(
        "the argument of `%I64d` has 64 bits",
        "\t\t/* Check validity of argument type (nl/normal) */\n",
        "\t\tint narrowed = (fl & I18N) && w==64 && (st==INT || st==UINT) ? st : 0;\n"
        "\t\tif (narrowed) st = ULLONG;\n"
        "\t\t/* Check validity of argument type (nl/normal) */\n",
    ),
    printf(
        "`%I64d` prints the lower 32 bits, as on x86-64",
        "\t\tif (!f) continue;\n",
        "\t\tif (!f) continue;\n"
        "\t\tif (narrowed==INT) arg.i = (int)arg.i;\n"
        "\t\tif (narrowed==UINT) arg.i = (unsigned)arg.i;\n",
    ),
    printf(
        "only `l`, `ll` and `L` select wide characters",
        "if (ps && (t&15)==3) t&=~32;",
        "if ((ps==LPRE || ps==LLPRE || ps==BIGLPRE) && (t&15)==3) t&=~32;",
    ),
    scanf(
        "the flags `I` and `'`",
        "\t\tfor (width=0; isdigit(*p); p++) {\n",
        "\t\twhile (*p=='I' || *p=='\\'') p++;\n\t\tfor (width=0; isdigit(*p); p++) {\n",
    ),
    scanf(
        "`L` and `q` for integers",
        "\tcase SIZE_ll:\n\t\t*(long long *)dest = i;\n",
        "\tcase SIZE_L:\n\tcase SIZE_ll:\n\t\t*(long long *)dest = i;\n",
    ),
    scanf("the same", "\t\tcase 'L':\n", "\t\tcase 'L': case 'q':\n"),
    scanf(
        "signed numbers that are too large become the largest of 64 bits",
        "__intscan(f, base, 0, ULLONG_MAX);",
        "__intscan(f, base, 0, t=='d' || t=='i' ? 1ULL<<63 : ULLONG_MAX);",
    ),
    Substitution(
        "zig/c/stdlib.zig",
        "numbers that are too large become the largest of 64 bits",
        "return asciiToInteger(c_int, @ptrCast(str));",
        "return @truncate(asciiToInteger(i64, @ptrCast(str)));",
    ),
)
