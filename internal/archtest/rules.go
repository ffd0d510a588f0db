package archtest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// check returns what breaks the plan, one line each: where, what, and why that is a rule.
func (p plan) check(t *tree) []string {
	var all []string
	rules := []func(*tree) []string{p.checkFolders, p.checkFloors, p.checkReach, p.checkDependencies, checkDocs, checkSizes, p.checkRenames}
	for _, rule := range rules {
		all = append(all, rule(t)...)
	}
	return all
}

func (p plan) checkFolders(t *tree) []string {
	var all []string
	for _, folder := range t.folders {
		// What the Makefile builds, and the skills of somebody who follows the README, are not in the repository.
		if folder != "bin" && folder != "dist" && folder != "skills" && !slices.Contains(p.folders, folder) {
			all = append(all, fmt.Sprintf("%s: no folder of the plan: expected one of %s (a newcomer must see the rooms at once)",
				folder, strings.Join(p.folders, ", ")))
		}
	}
	return all
}

func (p plan) checkFloors(t *tree) []string {
	var all []string
	for _, dir := range slices.Sorted(maps.Keys(p.floors)) {
		if t.packages[dir] == nil {
			all = append(all, dir+": in the table of floors, but there is no such package: delete the row (the plan shows what is there)")
		}
	}
	for _, pkg := range t.sorted() {
		if _, known := p.floors[pkg.dir]; !known {
			all = append(all, pkg.dir+": unknown package: give it a floor in internal/archtest/plan.go (every package has a place before it grows edges)")
			continue
		}
		for _, f := range pkg.files {
			for _, imp := range f.imports {
				all = append(all, p.checkImport(t, pkg.dir, f, imp)...)
			}
		}
	}
	return all
}

func (p plan) checkImport(t *tree, from string, f file, imp string) []string {
	report := func(format string, args ...any) []string {
		return []string{fmt.Sprintf("%s/%s imports %s: ", from, f.name, imp) + fmt.Sprintf(format, args...)}
	}
	to, inside := t.inside(imp)
	if !inside {
		if p.floors[from] == floorWords && !f.test && !p.testOnly[from] && !standard(imp) {
			return report("floor %d has the standard library alone (every cell and every door carries these packages)", floorWords)
		}
		return nil
	}
	floor, known := p.floors[to]
	switch {
	case !known || to == from: // an unknown package is reported as itself
		return nil
	case p.testOnly[to]:
		if !f.test && !p.testOnly[from] {
			return report("tests alone may import it (it drags package testing into the product)")
		}
		return nil
	case f.test:
		if floor > p.floors[from] {
			return report("a test on floor %d can't reach up to floor %d (such a test belongs in integration)", p.floors[from], floor)
		}
		return nil
	case p.only[from] != nil && !slices.Contains(p.only[from], to):
		return report("it may import only %s (a door speaks to interfaces, whatever stands behind)", strings.Join(p.only[from], ", "))
	case floor == p.floors[from] && !slices.Contains(p.edges[from], to):
		return report("both are on floor %d (siblings don't know each other; wire them one floor up, or add an edge with its reason)", floor)
	case floor > p.floors[from]:
		return report("floor %d can't import floor %d (contracts lie below what implements and uses them)", p.floors[from], floor)
	}
	return nil
}

func (p plan) checkReach(t *tree) []string {
	var all []string
	for _, program := range slices.Sorted(maps.Keys(p.reach)) {
		within, outside := t.reach(program)
		for _, dir := range within {
			if !slices.Contains(p.reach[program], dir) {
				all = append(all, fmt.Sprintf("%s reaches %s: it may contain only %s (every cell pays for its size and start)",
					program, dir, strings.Join(p.reach[program], ", ")))
			}
		}
		for _, imp := range outside {
			if !standard(imp) {
				all = append(all, fmt.Sprintf("%s reaches %s: it may contain the standard library alone (it is PID 1 beside hostile code)", program, imp))
			}
		}
	}
	return all
}

func (p plan) checkDependencies(t *tree) []string {
	var all []string
	used := map[string]bool{}
	for _, pkg := range t.sorted() {
		for _, f := range pkg.files {
			for _, imp := range f.imports {
				if _, inside := t.inside(imp); inside || standard(imp) || imp == t.module {
					continue
				}
				dep, ok := p.dependency(imp)
				if !ok {
					all = append(all, fmt.Sprintf("%s/%s imports %s: unlisted dependency: give it a home and a reason in internal/archtest/plan.go (each one is code that we answer for)", pkg.dir, f.name, imp))
					continue
				}
				used[dep.path] = true
				used[dep.path+" "+pkg.dir] = true
				all = append(all, p.checkHome(pkg.dir, f, imp, dep)...)
			}
		}
	}
	return append(all, p.staleHomes(used)...)
}

func (p plan) checkHome(dir string, f file, imp string, dep dependency) []string {
	if slices.Contains(dep.homes, dir) || len(dep.homes) == 0 && (f.test || p.testOnly[dir]) {
		return nil
	}
	where := "its homes are " + strings.Join(dep.homes, ", ")
	if len(dep.homes) == 0 {
		where = "tests alone use it"
	}
	return []string{fmt.Sprintf("%s/%s imports %s: %s (%s)", dir, f.name, imp, where, dep.reason)}
}

func (p plan) staleHomes(used map[string]bool) []string {
	var all []string
	for _, dep := range p.dependencies {
		if !used[dep.path] {
			all = append(all, dep.path+": in the table of dependencies, but nothing imports it: delete the row (the plan shows what is there)")
			continue
		}
		for _, home := range dep.homes {
			if !used[dep.path+" "+home] {
				all = append(all, fmt.Sprintf("%s: %s is listed as a home and doesn't import it: delete it there (a home is a permission)", dep.path, home))
			}
		}
	}
	return all
}

func (p plan) dependency(imp string) (dependency, bool) {
	for _, dep := range p.dependencies {
		if imp == dep.path || strings.HasPrefix(imp, dep.path+"/") {
			return dep, true
		}
	}
	return dependency{}, false
}

// checkDocs wants the package comment in doc.go, or in main.go for a program, and nowhere else.
func checkDocs(t *tree) []string {
	var all []string
	for _, pkg := range t.sorted() {
		homes, starts := []string{"doc.go"}, "Package "+pkg.name+" "
		if pkg.name == "main" {
			homes, starts = []string{"doc.go", "main.go"}, "Command "+pkg.dir[strings.LastIndex(pkg.dir, "/")+1:]+" "
		}
		var where []string
		for _, f := range pkg.files {
			if f.comment == "" {
				continue
			}
			where = append(where, f.name)
			if !strings.HasPrefix(f.comment, starts) {
				all = append(all, fmt.Sprintf("%s/%s: the package comment must start with %q (go doc shows that sentence alone)", pkg.dir, f.name, starts))
			}
		}
		if len(where) != 1 || !slices.Contains(homes, where[0]) {
			all = append(all, fmt.Sprintf("%s: wants one package comment, in %s; found it in [%s] (what a package is for, and what it must not know, stands where all look for it)",
				pkg.dir, strings.Join(homes, " or "), strings.Join(where, " ")))
		}
	}
	return all
}

func checkSizes(t *tree) []string {
	var all []string
	for _, pkg := range t.sorted() {
		for _, f := range pkg.files {
			if f.test {
				continue
			}
			if f.lines > maxFile {
				all = append(all, fmt.Sprintf("%s/%s: %d lines, at most %d (a file has one job; find the second one)", pkg.dir, f.name, f.lines, maxFile))
			}
			for _, fn := range f.funcs {
				if fn.lines > maxFunction {
					all = append(all, fmt.Sprintf("%s/%s: func %s has %d lines, at most %d (name its parts)", pkg.dir, f.name, fn.name, fn.lines, maxFunction))
				}
			}
		}
	}
	return all
}

// renameHome is the package that gives files their names for good.
const renameHome = "internal/durable"

// checkRenames wants names to survive a loss of power, unless the plan says why they need not.
func (p plan) checkRenames(t *tree) []string {
	var all []string
	used := map[string]bool{}
	for _, pkg := range t.sorted() {
		for _, f := range pkg.files {
			if !f.renames || f.test || pkg.dir == renameHome {
				continue
			}
			name := pkg.dir + "/" + f.name
			if used[name] = true; p.renames[name] == "" {
				all = append(all, fmt.Sprintf("%s: uses os.Rename or os.Link: use %s, or say in the plan why not (a name is lost with the power until its folder is on the disk)", name, renameHome))
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.renames)) {
		if !used[name] {
			all = append(all, name+": in the table of renames, but it renames nothing: delete the row (the plan shows what is there)")
		}
	}
	return all
}
