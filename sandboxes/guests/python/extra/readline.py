"""Line editing for `input`. There is no terminal, so the functions have no effect."""


def _nothing(*args):
    return None


parse_and_bind = read_init_file = set_completer = set_completer_delims = set_startup_hook = (
    set_pre_input_hook
) = _nothing
read_history_file = write_history_file = append_history_file = set_history_length = (
    clear_history
) = add_history = _nothing
set_auto_history = insert_text = redisplay = remove_history_item = replace_history_item = (
    get_completer
) = _nothing
set_completion_display_matches_hook = get_history_item = _nothing
backend = "readline"


def get_current_history_length():
    return 0


def get_history_length():
    return -1


def get_line_buffer():
    return ""


def get_completer_delims():
    return " \t\n`~!@#$%^&*()-=+[{]}\\|;:'\",<>/?"


def get_begidx():
    return 0


def get_endidx():
    return 0


def get_completion_type():
    return 0
