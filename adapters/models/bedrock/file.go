package bedrock

import (
	"cmp"
	"fmt"
	"mime"
	"path"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"

	"github.com/reveille-run/reveille/core"
)

// The formats that the API accepts, by media type.
var (
	images = map[string]types.ImageFormat{
		"image/png": types.ImageFormatPng, "image/jpeg": types.ImageFormatJpeg, "image/jpg": types.ImageFormatJpeg,
		"image/gif": types.ImageFormatGif, "image/webp": types.ImageFormatWebp,
	}
	documents = map[string]types.DocumentFormat{
		"application/pdf": types.DocumentFormatPdf, "text/csv": types.DocumentFormatCsv, "text/html": types.DocumentFormatHtml,
		"text/plain": types.DocumentFormatTxt, "text/markdown": types.DocumentFormatMd,
		"application/msword": types.DocumentFormatDoc, "application/vnd.ms-excel": types.DocumentFormatXls,
		"application/vnd.openxmlformats-officedocument.wordprocessingml.document": types.DocumentFormatDocx,
		"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet":       types.DocumentFormatXlsx,
	}
)

// content is the content of a user's message. Blank text is omitted, since the API
// refuses it.
func (c *conversation) content(said []core.Block) ([]types.ContentBlock, error) {
	var blocks []types.ContentBlock
	spoken, document := false, false
	for _, b := range said {
		switch {
		case b.Type == core.BlockText && strings.TrimSpace(b.Text) != "":
			blocks = append(blocks, text(b.Text))
			spoken = true
		case b.Type == core.BlockFile:
			block, err := c.file(b)
			if err != nil {
				return nil, err
			}
			switch block.(type) {
			case *types.ContentBlockMemberDocument:
				document = true
			case *types.ContentBlockMemberText:
				spoken = true
			}
			blocks = append(blocks, block)
		}
	}
	if document && !spoken { // the API requires a text with documents
		blocks = append(blocks, text("(no text)"))
	}
	return blocks, nil
}

// file is one file. Text of a kind that the API has no format for goes out as text,
// under its name.
func (c *conversation) file(b core.Block) (types.ContentBlock, error) {
	kind, _, err := mime.ParseMediaType(b.MediaType)
	if err != nil {
		return nil, invalid("a file of media type %q, want TYPE/SUBTYPE", core.Excerpt(b.MediaType))
	}
	if b.URL != "" && !strings.HasPrefix(b.URL, "s3://") {
		return nil, invalid("a file of media type %s by its URL is not supported by this API, send its bytes or an s3:// address", kind)
	}
	location := types.S3Location{Uri: aws.String(b.URL)}
	if format, ok := images[kind]; ok {
		image := types.ImageBlock{Format: format, Source: &types.ImageSourceMemberBytes{Value: b.Data}}
		if b.URL != "" {
			image.Source = &types.ImageSourceMemberS3Location{Value: location}
		}
		return &types.ContentBlockMemberImage{Value: image}, nil
	}
	if format, ok := documents[kind]; ok {
		document := types.DocumentBlock{Format: format, Name: aws.String(c.label(b.Filename)), Source: &types.DocumentSourceMemberBytes{Value: b.Data}}
		if b.URL != "" {
			document.Source = &types.DocumentSourceMemberS3Location{Value: location}
		}
		return &types.ContentBlockMemberDocument{Value: document}, nil
	}
	if b.URL == "" && (strings.HasPrefix(kind, "text/") || kind == "application/json") {
		return text(cmp.Or(b.Filename, "text") + ":\n" + string(b.Data)), nil
	}
	return nil, invalid("a file of media type %s is not supported by this API, which accepts PNG, JPEG, GIF, WebP, PDF, text, Word and Excel", kind)
}

// maxName is how long the name of a document may be.
const maxName = 200

// label makes a name that the API takes of a file's, without its ending: letters,
// digits, single spaces, hyphens, parentheses and brackets, each name once a request.
func (c *conversation) label(filename string) string {
	filename = strings.TrimSuffix(filename, path.Ext(filename))
	plain := strings.Map(func(r rune) rune {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		if letter || strings.ContainsRune("-()[]", r) {
			return r
		}
		return ' '
	}, filename)
	plain = strings.Join(strings.Fields(plain), " ")
	if len(plain) > maxName-6 {
		plain = strings.TrimSpace(plain[:maxName-6])
	}
	plain = cmp.Or(plain, "document")
	for {
		c.names[plain]++
		n := c.names[plain]
		if n == 1 {
			return plain
		}
		numbered := fmt.Sprintf("%s (%d)", plain, n)
		if c.names[numbered] == 0 {
			c.names[numbered]++
			return numbered
		}
	}
}
