/* Name resolution, which WASI preview 1 lacks. Each function fails as on a
 * machine without a network, and `socket` raises its usual error.
 */
#include <netdb.h>
#include <stddef.h>

int getaddrinfo(const char *restrict node, const char *restrict service,
                const struct addrinfo *restrict hints, struct addrinfo **restrict found)
{
    (void)node, (void)service, (void)hints;
    *found = NULL;
    return EAI_FAIL;
}

void freeaddrinfo(struct addrinfo *found) { (void)found; }

int getnameinfo(const struct sockaddr *restrict address, socklen_t length, char *restrict host,
                socklen_t host_room, char *restrict service, socklen_t service_room, int flags)
{
    (void)address, (void)length, (void)host, (void)host_room, (void)service, (void)service_room,
        (void)flags;
    return EAI_FAIL;
}

const char *gai_strerror(int code)
{
    (void)code;
    return "name look-up is not available";
}

int *__h_errno_location(void)
{
    static int last = NO_RECOVERY;
    return &last;
}

struct hostent *gethostbyname(const char *name)
{
    (void)name;
    return NULL;
}
