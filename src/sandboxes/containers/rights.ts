/**
 * What engines give by default and reaches beyond a container's own things: packets of any form on a network that sandboxes
 * share, and device files. Package managers, chown, su and servers as root need the rest; ping needs neither today.
 */
export const droppedCapabilities: readonly string[] = ['NET_RAW', 'MKNOD']
/** A program with the set-user-id bit gives an ordinary user nothing. */
export const noNewPrivileges = 'no-new-privileges:true'
