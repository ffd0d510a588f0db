// Command answer is a skill that says what it is asked, in an event and as its result, and ends at once.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

func main() {
	line, err := bufio.NewReader(os.Stdin).ReadBytes('\n')
	var request struct {
		Arguments struct{ Say json.RawMessage }
	}
	if err == nil {
		err = json.Unmarshal(line, &request)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "answer:", err)
		os.Exit(2)
	}
	say := request.Arguments.Say
	fmt.Printf(`{"type":"skill/event","kind":"log","data":{"message":%s}}`+"\n"+`{"type":"skill/result","success":true,"data":%s}`+"\n", say, say)
}
