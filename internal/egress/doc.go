// Package egress lets skills reach the hosts that their policy names, through a proxy on a loopback port of the cell: CONNECT
// for what is encrypted, and plain requests where the policy names the port. Names are resolved out here, and a connection
// goes to the very address that was checked.
//
// Special addresses (private, loopback, link-local, metadata services and the like) are refused even where a name that is
// allowed leads to them, unless the operator's policy writes the address down. The package knows no configuration and no
// cell; it sees streams.
package egress
