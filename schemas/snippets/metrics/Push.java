import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;

public class Push {
    public static void main(String[] args) throws Exception {
        String body = """
            {"data_id": 1500002, "access_token": "<token>",
             "data": [{"metrics": {"cpu_load": 10.5}, "target": "127.0.0.1",
                       "dimension": {"module": "db"}, "timestamp": %d}]}
            """.formatted(System.currentTimeMillis());
        HttpRequest request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:10205/v2/push/"))
            .timeout(Duration.ofSeconds(10))
            .POST(HttpRequest.BodyPublishers.ofString(body))
            .build();
        HttpResponse<String> answer = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
        System.out.println(answer.statusCode() + " " + answer.body());
    }
}
