package auth

import "fmt"

// Peer is the process at the other end of a unix socket, as the kernel knew it when it connected.
type Peer struct{ UID, GID int }

// identity makes a principal of a user of this host. Root and the user of this process, who could read the data folder
// anyway, are admins; the others got to the socket because its mode lets them.
func (p Peer) identity(self int) Identity {
	id := Identity{
		Principal: fmt.Sprintf("uid:%d", p.UID),
		Groups:    []Membership{{Group: fmt.Sprintf("gid:%d", p.GID), Role: RoleMember}},
		Scopes:    []Scope{Calls, SkillsRead, SkillsWrite},
	}
	if p.UID == 0 || p.UID == self {
		id.Scopes = append(id.Scopes, Admin)
	}
	return id
}
