/**
 * Capabilities that engines grant by default and that reach beyond a container's own things: raw packets on a network
 * that sandboxes share, and device files. Package managers, chown, su and servers as root need the rest; ping no longer
 * needs either.
 */
export const droppedCapabilities: readonly string[] = ['NET_RAW', 'MKNOD']
/** A program with the set-user-id bit gives an ordinary user no extra rights. */
export const noNewPrivileges = 'no-new-privileges:true'
