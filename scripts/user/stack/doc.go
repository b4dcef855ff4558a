// Command stack deploys, follows and deletes the stack of template.yaml in the current
// folder. It uses the SAM CLI:
//
//	go run ./scripts/user/stack deploy        # build and deploy; asks for parameters the first time
//	go run ./scripts/user/stack logs [Step]   # follow the logs of all functions, or of one
//	go run ./scripts/user/stack destroy       # delete the stack; tables and payload bucket stay
//	go run ./scripts/user/stack -data destroy # delete tables and payload bucket, too
//
// The file samconfig.toml, which `sam deploy --guided` writes, names the stack; -stack names
// another. Options after deploy are passed to `sam deploy`.
//
// The command computes three parameters. Release is a digest of the build and of the
// parameters: SAM only compares code, so without it a changed parameter would publish no
// version of a function. Schema and SchemaRaised are about stored records. Code that writes
// a newer schema than the code before it is not released gradually, and code that cannot
// read the stored records is refused. The numbers are those of core/internal/thread in the
// version of this module that go.mod names. The functions are built from the same version.
//
// If a CLI is missing, the error has the address of its installation guide. Deleting data
// also needs the AWS CLI, and the user must type the stack's name.
package main
