// Package archtest keeps the floor plan. Its test reads every Go file of the module and fails where one breaks a rule:
// who may import whom, which package is the home of which dependency, what a package must explain, and how large a
// function and a file may grow. plan.go holds the tables, rules.go the rules, tree.go what is known of the code.
//
// It parses files and builds nothing, so that it also judges code that doesn't compile, whatever its build tags. Nobody
// imports it, and it imports nothing of hotcell.
package archtest
