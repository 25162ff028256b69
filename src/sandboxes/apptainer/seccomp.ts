/** CLONE_NEWUSER of the kernel. */
const newUserNamespace = 0x10000000

/** Calls that only a root of a user namespace could make, which an ordinary user's sandbox has, and the keys of the session. */
const refused = [
  ...['mount', 'umount2', 'pivot_root', 'move_mount', 'open_tree', 'fsopen', 'fsmount', 'fsconfig', 'fspick'],
  ...['mount_setattr', 'setns', 'open_by_handle_at', 'add_key', 'request_key', 'keyctl'],
  ...['bpf', 'perf_event_open', 'userfaultfd', 'io_uring_setup', 'io_uring_enter', 'io_uring_register'],
]

/**
 * What no program inside may ask the kernel for, besides those calls a user namespace of its own, in which it would be root
 * again and could reach parts of the kernel that are otherwise closed to it. The format is that of container engines.
 */
export function seccompProfile(): object {
  const withFlag = [{ index: 0, value: newUserNamespace, valueTwo: newUserNamespace, op: 'SCMP_CMP_MASKED_EQ' }]
  return {
    defaultAction: 'SCMP_ACT_ALLOW',
    // clone3 stays open: its flags lie in memory where no filter can look, and Apptainer can only answer "not permitted" to
    // it, which the C library does not take as "use clone instead". A program made for it can still have its namespace.
    syscalls: [
      { names: refused, action: 'SCMP_ACT_ERRNO' },
      { names: ['unshare', 'clone'], action: 'SCMP_ACT_ERRNO', args: withFlag },
    ],
  }
}
