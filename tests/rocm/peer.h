// SPDX-License-Identifier: MIT OR Apache-2.0
// Two processes of one program with a socket between them. They part before either has called HIP, whose threads and
// files don't survive a fork.
#pragma once
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

static inline void must(bool good, const char *what) {
    if (good) return;
    perror(what);
    exit(2);
}

struct Peer {
    // 0 in the child.
    pid_t child;
    int socket;
};

static inline Peer part() {
    int ends[2];
    must(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0, "socketpair");
    pid_t child = fork();
    must(child >= 0, "fork");
    close(ends[child ? 1 : 0]);
    return {child, ends[child ? 0 : 1]};
}

template <typename T>
void tell(const Peer &peer, const T &what) {
    must(send(peer.socket, &what, sizeof what, 0) == sizeof what, "send");
}

// Ends with an error when the other one has.
template <typename T>
T hear(const Peer &peer) {
    T what;
    const ssize_t got = recv(peer.socket, &what, sizeof what, 0);
    if (!got) fprintf(stderr, "the other process has ended\n"), exit(2);
    must(got == sizeof what, "recv");
    return what;
}

// Sends an open file.
static inline void hand(const Peer &peer, int file) {
    char byte = 0, space[CMSG_SPACE(sizeof file)] = {};
    iovec data = {&byte, 1};
    msghdr message = {};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = space;
    message.msg_controllen = sizeof space;
    cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof file);
    *reinterpret_cast<int *>(CMSG_DATA(header)) = file;
    must(sendmsg(peer.socket, &message, 0) == 1, "sendmsg");
}

static inline int take(const Peer &peer) {
    char byte, space[CMSG_SPACE(sizeof(int))] = {};
    iovec data = {&byte, 1};
    msghdr message = {};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = space;
    message.msg_controllen = sizeof space;
    must(recvmsg(peer.socket, &message, 0) == 1 && CMSG_FIRSTHDR(&message), "recvmsg");
    return *reinterpret_cast<int *>(CMSG_DATA(CMSG_FIRSTHDR(&message)));
}

// The number of wrong results that the child ended with.
static inline long end_of(const Peer &peer) {
    int status;
    must(waitpid(peer.child, &status, 0) == peer.child, "waitpid");
    return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}
