import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.logging.Level;
import java.util.logging.Logger;

/** A small web server and its client, which know nothing of OpenTelemetry: instrumentation is for who starts them. */
final class Shop {
  private static final Logger LOG = Logger.getLogger("shop");

  private Shop() {}

  private static void answer(HttpExchange exchange) throws IOException {
    String path = exchange.getRequestURI().getPath();
    LOG.log(Level.WARNING, "order of é {0}", path);
    byte[] body = path.getBytes(StandardCharsets.UTF_8);
    exchange.sendResponseHeaders(path.endsWith("4") ? 500 : 200, body.length);
    exchange.getResponseBody().write(body);
    exchange.close();
  }

  public static void main(String[] args) throws IOException, InterruptedException {
    HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0);
    server.createContext("/orders", Shop::answer);
    server.start();
    HttpClient client = HttpClient.newHttpClient();
    for (int number = 0; number < 20; number++) {
      URI uri = URI.create("http://127.0.0.1:" + server.getAddress().getPort() + "/orders/" + number);
      client.send(HttpRequest.newBuilder(uri).build(), HttpResponse.BodyHandlers.ofString());
    }
    server.stop(0);
    System.exit(0);
  }
}
