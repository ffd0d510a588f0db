package console

import (
	"path"
	"strings"

	"github.com/hotcell/hotcell/internal/catalog"
)

// skillFileView is the page of one file of a skill.
type skillFileView struct {
	Area, Top             string // the list that it is below
	Skill, Back, Download string
	Name                  string
	Bytes                 int64
	Text                  string
	Binary                bool
}

// skillFilePath is the address of a file of a skill.
func skillFilePath(d *catalog.Detail, name string) string {
	return skillPath(d.Name, d.Principal, append([]string{"files"}, strings.Split(name, "/")...)...)
}

func (v *visit) skillFile() error {
	name, file := catalog.Fold(v.r.PathValue("name")), v.r.PathValue("path")
	b, err := v.o.Reader.File(v.ctx(), v.caller(), name, file, v.owner())
	if err != nil {
		return err
	}
	if v.query("download", 1) != "" {
		return v.attach(path.Base(file), b)
	}
	back := skillPath(name, v.owner())
	link := skillPath(name, v.owner(), append([]string{"files"}, strings.Split(file, "/")...)...)
	d := skillFileView{
		Area: "Skills", Top: Base + "/skills", Skill: name, Back: back, Name: file, Bytes: int64(len(b)), Download: withParam(link, "download", "1"),
	}
	d.fill(b)
	return v.render("skillfile", file+" of "+name, d)
}

// attach gives bytes that a browser saves and never shows.
func (v *visit) attach(name string, b []byte) error {
	v.asFile("application/octet-stream", name)
	_, _ = v.w.Write(b) // a browser that left
	return nil
}

// withParam adds a parameter to an address of the console.
func withParam(address, name, value string) string {
	if strings.Contains(address, "?") {
		return address + "&" + name + "=" + value
	}
	return address + "?" + name + "=" + value
}
