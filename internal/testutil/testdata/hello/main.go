// Command hello is what the tests of testutil build.
package main

import "fmt"

func main() { fmt.Println("hello") }
