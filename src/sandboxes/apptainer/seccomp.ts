/** CLONE_NEWUSER of the kernel. */
const newUserNamespace = 0x10000000

/**
 * The session's keys, and calls that only root of a user namespace can make; an ordinary user's sandbox has such a
 * root.
 */
const refused = [
  ...['mount', 'umount2', 'pivot_root', 'move_mount', 'open_tree', 'fsopen', 'fsmount', 'fsconfig', 'fspick'],
  ...['mount_setattr', 'setns', 'open_by_handle_at', 'add_key', 'request_key', 'keyctl'],
  ...['bpf', 'perf_event_open', 'userfaultfd', 'io_uring_setup', 'io_uring_enter', 'io_uring_register'],
]

/**
 * Besides those calls, no program inside may make its own user namespace, where it would be root again and could reach
 * parts of the kernel that are otherwise closed to it. The format is that of container engines.
 */
export function seccompProfile(): object {
  const withFlag = [{ index: 0, value: newUserNamespace, valueTwo: newUserNamespace, op: 'SCMP_CMP_MASKED_EQ' }]
  return {
    defaultAction: 'SCMP_ACT_ALLOW',
    // clone3 stays open: no filter can see its flags, which are in memory, and Apptainer can only answer "not
    // permitted", which the C library does not take as "use clone instead". So a program written for it can still get
    // its namespace.
    syscalls: [
      { names: refused, action: 'SCMP_ACT_ERRNO' },
      { names: ['unshare', 'clone'], action: 'SCMP_ACT_ERRNO', args: withFlag },
    ],
  }
}
