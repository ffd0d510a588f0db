package wall

// The runner's program as a pair that tries a network, for `hotcell doctor`: one listens, the other one dials.
const (
	// ListenFlag has it listen for TCP and UDP on a port, and answer whoever comes with a word, until its stdin ends:
	// -listen PORT WORD. It prints a line once it listens.
	ListenFlag = "-listen"
	// ReachFlag has it dial again and again for so long, and print a [Reach] in JSON: -reach MILLISECONDS WORD TARGET...
	// A target is NETWORK/ADDRESS:PORT.
	ReachFlag = "-reach"
)

// The networks of a target.
const (
	ReachTCP  = "tcp"  // a connection on which the word comes
	ReachUDP  = "udp"  // a packet that the word answers
	ReachOpen = "open" // a connection alone, since somebody else listens there
)

// Reach says what was reached, by target.
type Reach map[string]Reached

// Reached are the tries of one target. Times are milliseconds from the beginning, -1 for never.
type Reached struct {
	Tries int    `json:"tries"`
	Got   int    `json:"got"`   // how many got there
	First int64  `json:"first"` // when the first one did
	Last  int64  `json:"last"`  // when the last one did
	Open  bool   `json:"open"`  // the last try got there
	Why   string `json:"why"`   // why the last one that did not get there did not
}
