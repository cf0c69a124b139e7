package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"time"
)

func main() {
	body, err := json.Marshal(map[string]any{
		"data_id":      1500002,
		"access_token": "<token>",
		"data": []map[string]any{{
			"metrics":   map[string]float64{"cpu_load": 10.5},
			"target":    "127.0.0.1",
			"dimension": map[string]string{"module": "db"},
			"timestamp": time.Now().UnixMilli(),
		}},
	})
	if err != nil {
		log.Fatal(err)
	}
	client := http.Client{Timeout: 10 * time.Second}
	answer, err := client.Post("http://127.0.0.1:10205/v2/push/", "application/json", bytes.NewReader(body))
	if err != nil {
		log.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.Status, string(text))
}
