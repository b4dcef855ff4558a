//go:build mcp

package main

import (
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Api and stream have the server of MCP, too, and make it when they first use it.
func init() {
	tools = func() http.Handler {
		server := mcp.NewServer(&mcp.Implementation{Name: "floor", Version: "1"}, nil)
		return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	}
}
