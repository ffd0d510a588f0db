// Package broker lets calls use model providers without their keys. A call gets a grant; what its cell sends to the grant's
// port is checked against it, gets the real credential here, outside of the cell, and goes to that one provider and nowhere
// else. What comes back is counted, freed of key material and handed in.
//
// The package knows neither configuration files nor where credentials are kept, and nothing of tunnels but a net.Conn.
package broker
