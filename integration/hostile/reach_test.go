package hostile

import "testing"

func reachRows() []row {
	return []row{
		{name: "network", what: "reaches addresses, resolvers and the cloud's metadata", stops: "an empty network namespace", args: []string{"network"}, check: held(70)},
		{name: "network-setup", what: "makes interfaces, addresses and routes", stops: "no capability", args: []string{"network-setup"}, check: held(20),
			runsc: heldBut(20, "IP_TRANSPARENT", "IPT_SO_GET_INFO")},
		{name: "reach-victim", what: "reaches the processes, files, memory and sockets of the cell beside", stops: "namespaces and tmpfs of its own",
			args: []string{"reach-victim"}, victim: []string{"victim"}, check: held(14)},
	}
}

func TestReach(t *testing.T) { runRows(t, reachRows()) }
