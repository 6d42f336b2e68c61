// Reads requests as a server written in Go does: encoding/json ignores the case
// of keys and takes the last of two. One request a line comes in, and what was
// read goes out, one line each.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
)

type reference struct {
	Type *string `json:"type"`
	Name *string `json:"name"`
	URI  *string `json:"uri"`
}

type parameters struct {
	Name   *string    `json:"name"`
	URI    *string    `json:"uri"`
	TaskID *string    `json:"taskId"`
	Level  *string    `json:"level"`
	Ref    *reference `json:"ref"`
}

type request struct {
	Method *string     `json:"method"`
	Params *parameters `json:"params"`
}

func main() {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var read request
		var wrongType *json.UnmarshalTypeError
		if err := json.Unmarshal(line, &read); err != nil && !errors.As(err, &wrongType) {
			read = request{}
		}
		text, err := json.Marshal(read)
		if err != nil {
			os.Exit(1)
		}
		out.Write(text)
		out.WriteByte('\n')
	}
}
