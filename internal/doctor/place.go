package doctor

import (
	"fmt"
	"strings"

	"github.com/hotcell/hotcell/policies"
)

// dataFolder: can hotcell keep its data, and nobody else read it?
func (e *exam) dataFolder() {
	const id = "data-dir"
	d, path := e.facts.Host.Data, word(e.facts.Settings.DataDir)
	switch {
	case !d.Writable:
		e.add(id, Fail, path+" can't be used: "+strings.TrimPrefix(d.Why, path+": "), "make it writable for this user, or choose another with --data-dir or data_dir")
	case d.Exists && d.Mode&0o022 != 0:
		e.add(id, Warn, fmt.Sprintf("%s can be written by others (mode %04o)", path, d.Mode), "chmod go-w "+path)
	case d.Exists && d.UID != e.facts.Host.UID && e.facts.Host.UID != 0:
		e.add(id, Warn, fmt.Sprintf("%s belongs to user %d", path, d.UID), "run hotcell as that user, or choose another with --data-dir or data_dir")
	case !d.Exists:
		e.room(id, path+" is not there yet and can be made", d.Space)
	default:
		e.room(id, fmt.Sprintf("%s, mode %04o", path, d.Mode), d.Space)
	}
}

// engineSpace: is there room for volumes and images?
func (e *exam) engineSpace() {
	const id = "engine-disk"
	if !e.elsewhere(id) {
		e.room(id, word(e.facts.Engine.Root), e.facts.Host.Engine)
	}
}

// How little room is worth a word, and how little is too little.
const (
	scarce = 1 << 30
	full   = 64 << 20
)

func (e *exam) room(id, found string, s Space) {
	const hint = "make room: journal, volumes and images need some"
	if s.Total == 0 {
		e.skip(id, "%s: its file system does not tell what is free", found)
		return
	}
	found += fmt.Sprintf(", %s of %s free", size(int64(s.Free)), size(int64(s.Total)))
	switch {
	case s.Free < full:
		e.add(id, Fail, found, hint)
	case s.AllInodes > 0 && s.FreeInodes < 1000:
		e.add(id, Fail, fmt.Sprintf("%s, but only %d inodes", found, s.FreeInodes), hint)
	case s.Free < scarce:
		e.add(id, Warn, found, hint)
	default:
		e.ok(id, "%s", found)
	}
}

// socket: can the daemon listen, or does one already?
func (e *exam) socket() {
	const id = "socket"
	s, path := e.facts.Host.Socket, word(e.facts.Settings.Socket)
	switch {
	case s.Answers && s.OpenToAll:
		e.add(id, Warn, path+": a daemon listens, and everybody may connect", "chmod 0660 "+path)
	case s.Answers:
		e.ok(id, "%s: a daemon listens", path)
	case s.Exists && !s.IsSocket:
		e.add(id, Fail, path+" is there and is no socket", "remove it, or choose another place with socket")
	case !s.Usable:
		e.add(id, Warn, path+": this user can't listen there: "+s.Why, "choose another place with socket, or run 'hotcell serve' as a user who may")
	case s.Exists:
		e.ok(id, "%s: left by a daemon that is gone; the next one replaces it", path)
	default:
		e.ok(id, "%s: no daemon listens, one could", path)
	}
}

// images: those that skills without an image of their own run in.
func (e *exam) images() {
	if len(e.facts.Settings.Images) == 0 {
		e.ok("images", "no defaults are configured: each skill names its image")
		return
	}
	if e.noEngine("images") {
		return
	}
	var there, missing, refused, unknown []string
	own := false
	for _, img := range e.facts.Images {
		text := word(img.Kind) + ": " + word(img.Ref)
		switch {
		case img.Refused != "":
			refused = append(refused, word(img.Kind)+": "+clean(img.Refused, 2*maxWord))
		case img.Failed != "":
			unknown = append(unknown, text+": "+clean(img.Failed, 2*maxWord))
		case img.ID != "":
			there = append(there, text+" ("+size(img.Size)+")")
		default:
			missing = append(missing, text+": "+word(img.Why))
			own = own || strings.HasPrefix(img.Ref, "hotcell/")
		}
	}
	switch {
	case len(refused) > 0:
		e.add("images", Fail, strings.Join(refused, "; "), "skills that name no image can't run: name others in images.defaults, or allow these in policy.images")
		return
	case len(unknown) > 0:
		e.skip("images", "%s", strings.Join(unknown, "; "))
		return
	case len(missing) == 0:
		e.ok("images", "%s", strings.Join(there, "; "))
		return
	}
	hint := "the first call fetches them, or 'docker pull' now"
	switch {
	case e.onCluster():
		hint = "the first call asks their registry; or bring them over: 'docker save IMAGE | hotcell images import -', and to each node"
	case e.direct():
		hint = "bring them over: 'docker save IMAGE | hotcell images import -'"
	case own:
		hint = "'make image' in hotcell's sources builds hotcell/python:3; or name others in images.defaults"
	case e.facts.Settings.NeverPull:
		hint = "policy.images.pull is never: load or pull them first"
	}
	e.add("images", Warn, "not there: "+strings.Join(missing, "; "), hint)
}

func quantity(n int64) string {
	switch {
	case n < 0:
		return "not to be seen"
	case n == 0:
		return "none"
	}
	return policies.Bytes(n).String()
}
