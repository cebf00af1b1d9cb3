"""Terminal control. There is no terminal, so every call fails as it does for a pipe."""

error = type("error", (Exception,), {"__module__": "termios"})

TCSANOW, TCSADRAIN, TCSAFLUSH = 0, 1, 2
TCIFLUSH, TCOFLUSH, TCIOFLUSH = 0, 1, 2
TCOOFF, TCOON, TCIOFF, TCION = 0, 1, 2, 3
IGNBRK, BRKINT, IGNPAR, PARMRK, INPCK, ISTRIP, INLCR, IGNCR, ICRNL = (
    1,
    2,
    4,
    8,
    16,
    32,
    64,
    128,
    256,
)
IUCLC, IXON, IXANY, IXOFF, IMAXBEL = 512, 1024, 2048, 4096, 8192
OPOST = 1
CSIZE, CS5, CS6, CS7, CS8, CSTOPB, CREAD, PARENB, PARODD, HUPCL, CLOCAL = (
    48,
    0,
    16,
    32,
    48,
    64,
    128,
    256,
    512,
    1024,
    2048,
)
ISIG, ICANON, ECHO, ECHOE, ECHOK, ECHONL, NOFLSH, TOSTOP, IEXTEN = (
    1,
    2,
    8,
    16,
    32,
    64,
    128,
    256,
    32768,
)
VINTR, VQUIT, VERASE, VKILL, VEOF, VTIME, VMIN = 0, 1, 2, 3, 4, 5, 6
TIOCGWINSZ, TIOCSWINSZ, FIONREAD = 0x5413, 0x5414, 0x541B


def _fail(fd, *args):
    raise error(25, "Inappropriate ioctl for device")


tcgetattr = tcsetattr = tcsendbreak = tcdrain = tcflush = tcflow = tcgetwinsize = tcsetwinsize = (
    _fail
)
