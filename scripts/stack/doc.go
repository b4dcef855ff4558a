// Command stack deploys, watches and deletes the stack of template.yaml with the SAM
// CLI, in the folder that it is called in:
//
//	go run ./scripts/stack deploy        # build and deploy; asks the first time, and remembers
//	go run ./scripts/stack logs [Step]   # follow the log of all functions, or of one
//	go run ./scripts/stack destroy       # delete it; the tables with what was said stay
//	go run ./scripts/stack -data destroy # delete the tables, too
//
// The stack is the one that samconfig.toml names, which `sam deploy --guided` writes;
// -stack names another. It says what is missing when the CLI is not there. Deleting data
// needs the AWS CLI as well, and asks for the stack's name again.
package main
