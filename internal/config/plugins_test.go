package config

import (
	"strings"
	"testing"
)

// A plugin's name is what its skills' source is called: it must not pass for another.
func TestNamesOfPlugins(t *testing.T) {
	for name, want := range map[string]string{
		"my-plugin": "", "p1": "",
		"project": "taken", "installed": "taken", "core": "taken", "user": "taken", "custom-skills": "taken", "system": "taken",
		"My": "expected a name", "a/b": "expected a name", "": "expected a name", "a--b": "expected a name",
	} {
		c := Default(true, "", "")
		c.Skills.Plugins[name] = "dir"
		err := c.Validate()
		if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", name, err, want)
		}
	}
	c := Default(true, "", "")
	c.Skills.Plugins["x"] = " "
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "skills.plugins.x: expected a folder of skills") {
		t.Errorf("no folder: %v", err)
	}
}
