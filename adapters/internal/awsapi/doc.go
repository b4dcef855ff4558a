// Package awsapi is the shared code of the adapters to services of AWS: the settings of a
// client, from env.Config and the environment ([Read]), and signed calls of services of
// which only a few calls are needed ([New]). The SDK's clients for these would cost
// start-up time.
package awsapi
