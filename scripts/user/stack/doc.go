// Command stack deploys, watches and deletes the stack of template.yaml with the SAM
// CLI, in the folder that it is called in:
//
//	go run ./scripts/user/stack deploy        # build and deploy; asks the first time, and remembers
//	go run ./scripts/user/stack logs [Step]   # follow the log of all functions, or of one
//	go run ./scripts/user/stack destroy       # delete it; what was said stays
//	go run ./scripts/user/stack -data destroy # delete tables and payload bucket, too
//
// The stack is the one that samconfig.toml names, which `sam deploy --guided` writes;
// -stack names another. What follows deploy and begins with a dash is passed on to
// `sam deploy`.
//
// A deployment has parameters of its own, which nobody types. Release is a digest of
// what was built and of the parameters: SAM sees new code alone, and a changed
// parameter would publish no version of a function otherwise. Schema and SchemaRaised
// are about stored records: code that writes a newer schema than was written before is
// not released gradually, and code that cannot read what was written is refused. The
// numbers are those of core/internal/thread in the version that this command is built from,
// which is the one that the functions are built from: both are the module's that go.mod
// names.
//
// It says what is missing when the CLI is not there. Deleting data needs the AWS CLI as
// well, and asks for the stack's name again.
package main
