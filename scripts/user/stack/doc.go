// Command stack deploys, follows and deletes the stack of template.yaml in the current
// folder. It uses the SAM CLI and the AWS CLI:
//
//	go run ./scripts/user/stack deploy            # build and deploy the environment default
//	go run ./scripts/user/stack -env prod deploy  # the same for the environment prod
//	go run ./scripts/user/stack logs [Step]       # follow the logs of all functions, or of one
//	go run ./scripts/user/stack output StreamUrl  # print an output of the stack
//	go run ./scripts/user/stack destroy           # delete the stack; tables and payload bucket stay
//	go run ./scripts/user/stack -data destroy     # delete tables and payload bucket, too
//	go run ./scripts/user/stack restore MOMENT    # put the stack back to an earlier moment
//	go run ./scripts/user/stack purge BUCKET      # delete a bucket that destroy left, with all versions
//
// An environment is a name in samconfig.toml. Its settings are those of the section
// [NAME.deploy.parameters], and for missing ones those of [NAME.global.parameters], as the SAM
// CLI takes them with --config-env. Nothing is taken from another environment, and a parameter
// that the section lacks gets the default of the template. -stack selects an environment by the
// name of its stack. With -env, it replaces the name. Options after deploy are passed to
// `sam deploy`.
//
// The first deployment of an environment asks six values and adds its section to the file. Each
// deployment prints which parameters differ from the deployed stack, and asks. Without a
// terminal it needs -yes.
//
// The command computes values that are not parameters, and writes them into the built template.
// The digest of the build and of the parameters makes each function publish a version: SAM only
// compares code, so without it a changed parameter would publish none. Two values are about
// stored records. Code that writes a newer schema than the code before it is not released
// gradually, and code that cannot read the stored records is refused. The numbers are those of
// core/internal/thread in the version of this module that go.mod names. The functions are built
// from the same version. The filters of triggers that AWS can check itself become the patterns of
// the rule and of the event source mappings of Trigger.
//
// A moment is a time in whole seconds with its zone, such as 2026-11-29T10:00:00Z. The restore
// continues when it is run again after a failure; see package restore in this folder.
//
// If a CLI is missing, the error has the address of its installation guide. The SAM CLI cannot
// return the parameters of a deployed stack, so the AWS CLI reads them. The user must type the
// stack's name before data is deleted.
package main
