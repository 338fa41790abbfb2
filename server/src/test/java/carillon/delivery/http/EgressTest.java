package carillon.delivery.http;

import static org.assertj.core.api.Assertions.assertThat;

import carillon.model.target.AddressRules;
import carillon.model.target.HttpTargetRules;
import carillon.model.task.DeliveryResult;
import carillon.model.task.Failure;
import carillon.model.task.FailureKind;
import carillon.testkit.RawReceiver;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.net.UnknownHostException;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Which addresses deliveries connect to: 127.0.0.1 is the public internet, 127.0.0.2 is private.
 */
@Tag("slow")
class EgressTest {

  static final String PUBLIC = "127.0.0.1";
  static final String PRIVATE = "127.0.0.2";
  static final Failure DENIED =
      Failure.of(
          FailureKind.ADDRESS_NOT_ALLOWED, "target address not allowed; see --allow-targets");

  final HttpTargetRules rules = new HttpTargetRules(AddressRules.of(List.of(PUBLIC, "::1")));
  RawReceiver reachable;
  RawReceiver forbidden;

  @BeforeEach
  void listen() {
    reachable = RawReceiver.responding(HttpRequestTest.OK);
    forbidden =
        RawReceiver.at(
            new InetSocketAddress(InetAddress.ofLiteral(PRIVATE), reachable.port()),
            wire -> wire.respondToAll(HttpRequestTest.OK));
  }

  @AfterEach
  void close() throws IOException {
    reachable.close();
    forbidden.close();
  }

  @Test
  void a_delivery_connects_to_the_vetted_address() {
    try (var deliverer = resolving(host -> addresses(PUBLIC))) {
      assertThat(named("hooks.example").by(deliverer))
          .isEqualTo(new DeliveryResult.Accepted(200, null));
      assertThat(reachable.requests().getFirst().header("host"))
          .isEqualTo("hooks.example:" + reachable.port());
    }
  }

  @Test
  void a_name_that_becomes_private_between_attempts_is_denied() {
    Iterator<String> lookups = Stream.of(PUBLIC, PRIVATE).iterator();
    try (var deliverer = resolving(host -> addresses(lookups.next()))) {
      assertThat(named("flip.example").by(deliverer)).isInstanceOf(DeliveryResult.Accepted.class);
      assertThat(named("flip.example").failureBy(deliverer)).isEqualTo(DENIED);
    }
    assertThat(reachable.requests()).hasSize(1);
    assertThat(forbidden.connections()).isZero();
  }

  @Test
  void a_name_that_flips_with_every_lookup_never_reaches_the_private_address() {
    var lookups = new AtomicInteger();
    Resolver.Lookup flipping =
        host -> addresses(lookups.getAndIncrement() % 2 == 0 ? PUBLIC : PRIVATE);
    try (var deliverer = resolving(flipping)) {
      for (int i = 0; i < 500; i++) {
        assertThat(named("flip.example").by(deliverer)).isInstanceOf(DeliveryResult.Accepted.class);
        assertThat(named("flip.example").failureBy(deliverer)).isEqualTo(DENIED);
      }
    }
    assertThat(lookups).hasValue(1000);
    assertThat(forbidden.connections()).isZero();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "127.0.0.1 127.0.0.2",
        "127.0.0.2 127.0.0.1",
        "127.0.0.1 fd00::1",
        "127.0.0.1 fe80::1",
        "127.0.0.1 64:ff9b::7f00:2",
        "127.0.0.1 ::1 169.254.169.254"
      })
  void one_denied_address_denies_the_name(String resolved) {
    try (var deliverer = resolving(host -> addresses(resolved.split(" ")))) {
      assertThat(named("mixed.example").failureBy(deliverer)).isEqualTo(DENIED);
    }
    assertThat(reachable.connections()).isZero();
    assertThat(forbidden.connections()).isZero();
  }

  @Test
  void a_host_that_the_operator_allowed_may_resolve_to_any_address() {
    var named = new HttpTargetRules(AddressRules.of(List.of("billing")));
    try (var deliverer = resolving(named, host -> addresses(PRIVATE))) {
      assertThat(named("billing").by(deliverer)).isInstanceOf(DeliveryResult.Accepted.class);
    }
    assertThat(forbidden.requests()).hasSize(1);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"127.0.0.2", "localhost", "127.2", "2130706434", "[::ffff:127.0.0.2]", "0x7f.2"})
  void literal_addresses_are_vetted_by_every_attempt(String host) {
    var lookups = new AtomicInteger();
    try (var deliverer =
        resolving(
            name -> {
              lookups.incrementAndGet();
              return addresses(PRIVATE);
            })) {
      assertThat(named(host).failureKindBy(deliverer)).isEqualTo(FailureKind.ADDRESS_NOT_ALLOWED);
    }
    assertThat(forbidden.connections()).isZero();
  }

  @Test
  void a_literal_address_needs_no_lookup() {
    var lookups = new AtomicInteger();
    try (var deliverer =
        resolving(
            host -> {
              lookups.incrementAndGet();
              return addresses(PUBLIC);
            })) {
      assertThat(named(PUBLIC).by(deliverer)).isInstanceOf(DeliveryResult.Accepted.class);
    }
    assertThat(lookups).hasValue(0);
  }

  @ParameterizedTest
  @ValueSource(ints = {301, 302, 303, 307, 308})
  void a_redirect_is_not_followed(int status) throws IOException {
    String location = "http://" + PRIVATE + ":" + reachable.port() + "/";
    String redirect =
        "HTTP/1.1 %d X\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n".formatted(status, location);
    try (var redirecting = RawReceiver.responding(redirect);
        var deliverer = resolving(host -> addresses(PUBLIC))) {
      assertThat(Attempt.at(redirecting.url()).method("GET").by(deliverer))
          .isInstanceOf(DeliveryResult.Refused.class);
    }
    assertThat(reachable.connections()).isZero();
    assertThat(forbidden.connections()).isZero();
  }

  @Test
  void system_proxies_are_not_used() throws IOException {
    try (var proxy = RawReceiver.responding(HttpRequestTest.OK);
        var deliverer = resolving(host -> addresses(PUBLIC))) {
      List<String> settings = List.of("http.proxy", "https.proxy", "socksProxy");
      try {
        settings.forEach(setting -> System.setProperty(setting + "Host", "127.0.0.1"));
        settings.forEach(setting -> System.setProperty(setting + "Port", "" + proxy.port()));
        // By default, no proxy is used for this machine.
        System.setProperty("http.nonProxyHosts", "");
        System.setProperty("socksNonProxyHosts", "");

        assertThat(named("hooks.example").by(deliverer))
            .isInstanceOf(DeliveryResult.Accepted.class);
      } finally {
        settings.forEach(setting -> System.clearProperty(setting + "Host"));
        settings.forEach(setting -> System.clearProperty(setting + "Port"));
        System.clearProperty("http.nonProxyHosts");
        System.clearProperty("socksNonProxyHosts");
      }
      assertThat(proxy.connections()).isZero();
      assertThat(reachable.requests()).hasSize(1);
    }
  }

  @Test
  void an_unreachable_address_is_followed_by_the_next() {
    // Nothing listens at this port on ::1.
    try (var deliverer = resolving(host -> addresses("::1", PUBLIC))) {
      assertThat(named("dual.example").by(deliverer)).isInstanceOf(DeliveryResult.Accepted.class);
    }
  }

  @Test
  void connecting_times_out_after_three_seconds() throws IOException {
    try (var full = FullBacklog.listen()) {
      long start = System.nanoTime();
      try (var deliverer = resolving(host -> addresses(PUBLIC, PUBLIC))) {
        assertThat(Attempt.at(full.url()).timeout(Duration.ofSeconds(10)).failureBy(deliverer))
            .isEqualTo(Failure.of(FailureKind.CONNECTION, "connection failed"));
      }
      assertThat(Duration.ofNanos(System.nanoTime() - start))
          .isBetween(Duration.ofMillis(2900), Duration.ofSeconds(4));
    }
  }

  @Test
  void the_deadline_covers_connecting() throws IOException {
    try (var full = FullBacklog.listen();
        var deliverer = resolving(host -> addresses(PUBLIC))) {
      long start = System.nanoTime();

      assertThat(Attempt.at(full.url()).failureBy(deliverer))
          .isEqualTo(Failure.of(FailureKind.CONNECT_TIMEOUT, "connection timed out after 1000 ms"));

      assertThat(System.nanoTime() - start).isLessThan(Attempt.TIMEOUT.plusSeconds(1).toNanos());
    }
  }

  @Test
  void an_unknown_name_is_a_dns_failure() {
    try (var deliverer =
        resolving(
            host -> {
              throw new UnknownHostException("10.0.0.53 says NXDOMAIN");
            })) {
      assertThat(named("nowhere.example").failureBy(deliverer))
          .isEqualTo(Failure.of(FailureKind.DNS, "DNS lookup failed"));
    }
  }

  @Test
  void an_empty_dns_response_is_a_dns_failure() {
    try (var deliverer = resolving(host -> addresses())) {
      assertThat(named("empty.example").failureKindBy(deliverer)).isEqualTo(FailureKind.DNS);
    }
  }

  @Test
  void a_name_may_have_a_thousand_addresses() {
    String[] many = new String[1000];
    Arrays.fill(many, PUBLIC);
    try (var deliverer = resolving(host -> addresses(many))) {
      assertThat(named("many.example").by(deliverer)).isInstanceOf(DeliveryResult.Accepted.class);
    }
  }

  @Test
  void a_lookup_times_out_after_two_seconds_without_delaying_others() {
    var silence = new CountDownLatch(1);
    Resolver.Lookup lookup =
        host -> {
          if (host.equals("silent.example")) {
            awaitForever(silence);
          }
          return addresses(PUBLIC);
        };
    try (var deliverer = resolving(lookup)) {
      long start = System.nanoTime();
      var silent =
          Stream.generate(() -> named("silent.example").timeout(Duration.ofSeconds(10)))
              .limit(200)
              .map(attempt -> attempt.startBy(deliverer))
              .toList();

      assertThat(named("hooks.example").by(deliverer)).isInstanceOf(DeliveryResult.Accepted.class);

      assertThat(silent)
          .allMatch(running -> Attempt.failureIn(running.result()).kind() == FailureKind.DNS);
      assertThat(Duration.ofNanos(System.nanoTime() - start))
          .isBetween(Resolver.TIMEOUT, Resolver.TIMEOUT.plusSeconds(1));
    } finally {
      silence.countDown();
    }
  }

  @Test
  void the_deadline_covers_the_lookup() {
    var silence = new CountDownLatch(1);
    try (var deliverer =
        resolving(
            host -> {
              awaitForever(silence);
              return addresses(PUBLIC);
            })) {
      long start = System.nanoTime();

      assertThat(named("silent.example").failureKindBy(deliverer))
          .isEqualTo(FailureKind.CONNECT_TIMEOUT);

      assertThat(System.nanoTime() - start).isLessThan(Attempt.TIMEOUT.plusSeconds(1).toNanos());
    } finally {
      silence.countDown();
    }
  }

  @Test
  void an_interrupt_ends_the_wait_for_a_lookup() throws InterruptedException {
    var looking = new CountDownLatch(1);
    var silence = new CountDownLatch(1);
    try (var deliverer =
        resolving(
            host -> {
              looking.countDown();
              awaitForever(silence);
              return addresses(PUBLIC);
            })) {
      var running = named("silent.example").startBy(deliverer);
      looking.await();

      running.thread().interrupt();

      assertThat(running.result()).isEqualTo(new DeliveryResult.Interrupted());
    } finally {
      silence.countDown();
    }
  }

  private HttpDeliverer resolving(Resolver.Lookup lookup) {
    return resolving(rules, lookup);
  }

  private static HttpDeliverer resolving(HttpTargetRules rules, Resolver.Lookup lookup) {
    return new HttpDeliverer(rules, InstantSource.fixed(Attempt.NOW), "test", lookup, null);
  }

  private Attempt named(String host) {
    return Attempt.at("http://" + host + ":" + reachable.port() + "/");
  }

  private static InetAddress[] addresses(String... literals) {
    return Arrays.stream(literals).map(InetAddress::ofLiteral).toArray(InetAddress[]::new);
  }

  private static void awaitForever(CountDownLatch silence) {
    try {
      silence.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** A port whose backlog is full, so that Linux drops further connection requests. */
  private record FullBacklog(ServerSocket listener, List<Socket> waiting) implements AutoCloseable {

    static FullBacklog listen() throws IOException {
      var listener = new ServerSocket(0, 1, InetAddress.ofLiteral(PUBLIC));
      var full = new FullBacklog(listener, new ArrayList<>());
      try {
        while (full.waiting.size() < 50) {
          var socket = new Socket();
          full.waiting.add(socket);
          socket.connect(listener.getLocalSocketAddress(), 200);
        }
      } catch (SocketTimeoutException e) {
        return full;
      }
      throw new AssertionError("the backlog never fills up");
    }

    String url() {
      return "http://full.example:" + listener.getLocalPort() + "/";
    }

    @Override
    public void close() throws IOException {
      listener.close();
      for (Socket socket : waiting) {
        socket.close();
      }
    }
  }
}
