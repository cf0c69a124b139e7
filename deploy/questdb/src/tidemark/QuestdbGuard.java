package tidemark;

import io.questdb.Bootstrap;
import io.questdb.DynamicPropServerConfiguration;
import io.questdb.FactoryProviderImpl;
import io.questdb.PropBootstrapConfiguration;
import io.questdb.ServerConfiguration;
import io.questdb.ServerMain;
import io.questdb.cairo.SecurityContext;
import io.questdb.cairo.security.ReadOnlySecurityContext;
import io.questdb.cairo.security.SecurityContextFactory;
import io.questdb.cutlass.http.HttpAuthenticator;
import io.questdb.cutlass.http.HttpAuthenticatorFactory;
import io.questdb.cutlass.http.HttpConnectionContext;
import io.questdb.cutlass.http.HttpRequestHeader;
import io.questdb.cutlass.http.RejectProcessorFactory;
import io.questdb.cutlass.http.processors.RejectProcessor;
import io.questdb.cutlass.http.processors.RejectProcessorImpl;
import io.questdb.log.LogFactory;
import io.questdb.std.Chars;
import io.questdb.std.FilesFacadeImpl;
import io.questdb.std.str.Utf8Sequence;
import io.questdb.std.str.Utf8String;
import io.questdb.std.str.Utf8s;
import java.net.HttpURLConnection;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Locale;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * QuestDB as its own main class starts it, with what its HTTP interface lacks. The readonly user of its Postgres wire
 * (pg.readonly.user.enabled) is one of HTTP too, with the same rights. With the system property tidemark.http.hosts, a list of
 * names separated by commas, requests for other hosts are refused with 403, and so are those from pages of other origins.
 */
public final class QuestdbGuard extends FactoryProviderImpl {
    private static final Utf8String AUTHORIZATION = new Utf8String("Authorization");
    private static final Utf8String HOST = new Utf8String("Host");
    private static final Utf8String ORIGIN = new Utf8String("Origin");
    private static final Utf8String FETCH_SITE = new Utf8String("Sec-Fetch-Site");
    /** Of the small server for health and metrics, which shares this: an orchestrator asks it by any name. */
    private static final Set<String> OPEN_PATHS = Set.of("/status", "/metrics");
    private static final int EXIT_CODE = 55;

    private final String operator;
    private final Utf8String operatorHeader;
    private final String reader;
    private final Utf8String readerHeader;
    private final Set<String> hosts;

    private QuestdbGuard(ServerConfiguration configuration) {
        super(configuration);
        var http = configuration.getHttpServerConfiguration();
        var pg = configuration.getPGWireConfiguration();
        operator = http.getUsername();
        operatorHeader = basic(operator, http.getPassword());
        reader = pg.isReadOnlyUserEnabled() ? pg.getReadOnlyUsername() : null;
        readerHeader = basic(reader, pg.getReadOnlyPassword());
        hosts = Stream.of(System.getProperty("tidemark.http.hosts", "").split(","))
                .map(host -> host.trim().toLowerCase(Locale.ROOT))
                .filter(host -> !host.isEmpty())
                .collect(Collectors.toUnmodifiableSet());
    }

    public static void main(String[] args) {
        try {
            new ServerMain(new Bootstrap(new GuardedConfiguration(), args)).start(true);
        } catch (Throwable error) {
            error.printStackTrace();
            LogFactory.closeInstance();
            System.exit(EXIT_CODE);
        }
    }

    @Override
    public HttpAuthenticatorFactory getHttpAuthenticatorFactory() {
        return Chars.empty(operator) ? super.getHttpAuthenticatorFactory() : Authenticator::new;
    }

    @Override
    public SecurityContextFactory getSecurityContextFactory() {
        SecurityContextFactory own = super.getSecurityContextFactory();
        return (principal, interfaceId) -> interfaceId == SecurityContextFactory.HTTP
                && Chars.equalsNc(principal.getPrincipal(), reader)
                ? ReadOnlySecurityContext.SETTINGS_READ_ONLY
                : own.getInstance(principal, interfaceId);
    }

    @Override
    public RejectProcessorFactory getRejectProcessorFactory() {
        return hosts.isEmpty() ? super.getRejectProcessorFactory() : ForeignRejecter::new;
    }

    private static Utf8String basic(String user, String password) {
        if (Chars.empty(user) || Chars.empty(password)) return null;
        byte[] credentials = (user + ":" + password).getBytes(StandardCharsets.UTF_8);
        return new Utf8String("Basic " + Base64.getEncoder().encodeToString(credentials));
    }

    private static boolean matches(Utf8String expected, Utf8Sequence given) {
        return expected != null && given != null && Utf8s.equals(expected, given);
    }

    private static String lowerCase(Utf8Sequence text) {
        return text.toString().toLowerCase(Locale.ROOT);
    }

    private boolean isForeign(HttpRequestHeader header) {
        Utf8Sequence path = header.getUrl();
        if (path != null && OPEN_PATHS.contains(path.toString())) return false;
        Utf8Sequence given = header.getHeader(HOST);
        String host = given == null ? "" : lowerCase(given);
        if (!hosts.contains(host.replaceFirst(":\\d+$", ""))) return true;
        Utf8Sequence origin = header.getHeader(ORIGIN);
        if (origin != null && !lowerCase(origin).replaceFirst("^https?://", "").equals(host)) return true;
        Utf8Sequence site = header.getHeader(FETCH_SITE);
        return site != null && !Set.of("same-origin", "none").contains(lowerCase(site));
    }

    private static final class GuardedConfiguration extends PropBootstrapConfiguration {
        @Override
        public ServerConfiguration getServerConfiguration(Bootstrap bootstrap) throws Exception {
            return new DynamicPropServerConfiguration(
                    bootstrap.getRootDirectory(),
                    bootstrap.loadProperties(),
                    getEnv(),
                    bootstrap.getLog(),
                    bootstrap.getBuildInformation(),
                    FilesFacadeImpl.INSTANCE,
                    bootstrap.getMicrosecondClock(),
                    (configuration, engine, freeOnExit) -> new QuestdbGuard(configuration));
        }
    }

    /** One of each connection; asked at each request. */
    private final class Authenticator implements HttpAuthenticator {
        private String principal;

        @Override
        public boolean authenticate(HttpRequestHeader header) {
            Utf8Sequence given = header.getHeader(AUTHORIZATION);
            principal = matches(operatorHeader, given) ? operator : matches(readerHeader, given) ? reader : null;
            return principal != null;
        }

        @Override
        public byte getAuthType() {
            return SecurityContext.AUTH_TYPE_CREDENTIALS;
        }

        @Override
        public CharSequence getPrincipal() {
            return principal;
        }
    }

    /** One of each connection; asked at each request once its header is there. */
    private final class ForeignRejecter extends RejectProcessorImpl {
        ForeignRejecter(HttpConnectionContext context) {
            super(context);
        }

        @Override
        public boolean isRequestBeingRejected() {
            if (!super.isRequestBeingRejected() && isForeign(httpConnectionContext.getRequestHeader())) {
                reject(HttpURLConnection.HTTP_FORBIDDEN, "pages and addresses of others are not answered (Host, Origin)");
            }
            return super.isRequestBeingRejected();
        }

        /** What is refused already needs no credentials. */
        @Override
        public boolean requiresAuthentication() {
            return false;
        }

        /** The first reason stays. */
        @Override
        public RejectProcessor reject(int code) {
            return super.isRequestBeingRejected() ? this : super.reject(code);
        }
    }
}
