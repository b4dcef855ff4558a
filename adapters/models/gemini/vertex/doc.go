// Package vertex makes models of Vertex AI with Google's application default credentials:
// the file that GOOGLE_APPLICATION_CREDENTIALS names, or the login of
// `gcloud auth application-default login`. The file may be that of a service account, a
// person, or a federated workload. It links golang.org/x/oauth2/google, which functions
// and the local host do not link unless they are built with the tag vertex. An API key
// needs no library: see gemini.VertexAdapter.
package vertex
