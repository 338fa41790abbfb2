package carillon.chaos.cluster;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A TCP proxy between one node and PostgreSQL that can delay, block or cut connections, in one
 * direction or both.
 *
 * <p>Blocked bytes are not discarded: they arrive when the relay is open again, as retransmitted
 * packets do. So a commit may arrive after its sender has given up on it.
 */
public final class Relay implements AutoCloseable {

  private static final InetAddress LOOPBACK = InetAddress.ofLiteral("127.0.0.1");
  private static final int BUFFER = 16 * 1024;
  private static final int CONNECT_MILLIS = 2_000;

  /** What the relay does with the bytes it receives. */
  enum Mode {
    PASS,
    /** Delays both directions. */
    DELAY,
    /** Blocks both directions. */
    BLOCK,
    /** Passes bytes to PostgreSQL, and blocks its responses. */
    BLOCK_RESPONSES
  }

  private final ServerSocket listener;
  private final int target;
  private final Set<Line> lines = ConcurrentHashMap.newKeySet();
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();
  private Mode mode = Mode.PASS; // guarded by lock
  private long delayMillis; // guarded by lock
  private final AtomicInteger cutsLeft = new AtomicInteger();
  private final AtomicInteger cuts = new AtomicInteger();

  private Relay(ServerSocket listener, int target) {
    this.listener = listener;
    this.target = target;
  }

  /** Starts a relay on a new port for the given port, both on loopback. */
  static Relay to(int target) throws IOException {
    Relay relay = new Relay(new ServerSocket(0, 256, LOOPBACK), target);
    Thread.ofVirtual().name("relay").start(relay::accept);
    return relay;
  }

  int port() {
    return listener.getLocalPort();
  }

  public void pass() {
    set(Mode.PASS, 0);
  }

  public void delay(Duration by) {
    set(Mode.DELAY, by.toMillis());
  }

  public void block() {
    set(Mode.BLOCK, 0);
  }

  public void blockResponses() {
    set(Mode.BLOCK_RESPONSES, 0);
  }

  private void set(Mode newMode, long millis) {
    lock.lock();
    try {
      mode = newMode;
      delayMillis = millis;
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  Mode mode() {
    lock.lock();
    try {
      return mode;
    } finally {
      lock.unlock();
    }
  }

  /** Resets every connection, as a firewall does after losing its state. */
  public void rst() {
    lines.forEach(line -> line.end(true));
  }

  /** Closes every connection. */
  void hangUp() {
    lines.forEach(line -> line.end(false));
  }

  /**
   * Lets the next commits of writing transactions succeed, but closes their connections before the
   * response.
   */
  public void cutCommits(int times) {
    cutsLeft.set(times);
  }

  public void stopCutting() {
    cutsLeft.set(0);
  }

  /** How many commits were executed without a response. */
  public int cuts() {
    return cuts.get();
  }

  /** The local ports of the relay's connections to PostgreSQL. */
  public List<Integer> ports() {
    return lines.stream()
        .filter(line -> line.server.isConnected())
        .map(line -> line.server.getLocalPort())
        .toList();
  }

  private void accept() {
    try {
      while (true) {
        Socket client = listener.accept();
        Thread.ofVirtual().name("relay-line").start(() -> connect(client));
      }
    } catch (IOException _) {
      // closed
    }
  }

  private void connect(Socket client) {
    Socket server = new Socket();
    Line line = new Line(client, server);
    lines.add(line); // before connecting, so that rst() misses no connection
    try {
      client.setTcpNoDelay(true);
      server.setTcpNoDelay(true);
      awaitOpen(true);
      server.connect(new InetSocketAddress(LOOPBACK, target), CONNECT_MILLIS);
    } catch (IOException | InterruptedException _) {
      line.end(true);
      return;
    }
    Thread.ofVirtual().name("relay-up").start(line::up);
    line.down();
  }

  /** Blocks while the relay blocks this direction, or for the delay. */
  private void awaitOpen(boolean up) throws InterruptedException {
    long pause;
    lock.lockInterruptibly();
    try {
      while (mode == Mode.BLOCK || (mode == Mode.BLOCK_RESPONSES && !up)) {
        changed.await();
      }
      pause = mode == Mode.DELAY ? delayMillis : 0;
    } finally {
      lock.unlock();
    }
    if (pause > 0) {
      Thread.sleep(pause);
    }
  }

  /** Uses up one of the remaining cuts. */
  private boolean takeCut() {
    return cutsLeft.getAndUpdate(left -> Math.max(0, left - 1)) > 0;
  }

  private static void close(Socket socket, boolean reset) {
    try {
      if (reset) {
        socket.setSoLinger(true, 0);
      }
    } catch (IOException _) {
      // closed already
    }
    try {
      socket.close();
    } catch (IOException _) {
      // closed already
    }
  }

  @Override
  public void close() throws IOException {
    listener.close();
    pass();
    rst();
  }

  /** One connection. */
  private final class Line {

    private final Socket client;
    private final Socket server;
    private volatile boolean dropsResponse;
    private boolean wrote; // in this transaction; confined to the thread of up()

    Line(Socket client, Socket server) {
      this.client = client;
      this.server = server;
    }

    void up() {
      Statements statements = new Statements();
      try {
        InputStream in = client.getInputStream();
        OutputStream out = server.getOutputStream();
        byte[] buffer = new byte[BUFFER];
        for (int n = in.read(buffer); n >= 0; n = in.read(buffer)) {
          for (String statement : statements.read(buffer, n)) {
            dropsResponse |= isCut(statement);
          }
          awaitOpen(true);
          out.write(buffer, 0, n);
        }
        awaitOpen(true);
        server.shutdownOutput(); // a close is blocked like everything else
      } catch (IOException | InterruptedException _) {
        end(false);
      }
    }

    /** Whether the response to this statement is to be dropped. */
    private boolean isCut(String statement) {
      if (Statements.isBoundary(statement)) {
        boolean isCommit = wrote && statement.contains("COMMIT");
        wrote = false;
        return isCommit && takeCut();
      }
      wrote |= Statements.isWrite(statement);
      return false;
    }

    void down() {
      try {
        InputStream in = server.getInputStream();
        OutputStream out = client.getOutputStream();
        byte[] buffer = new byte[BUFFER];
        for (int n = in.read(buffer); n >= 0; n = in.read(buffer)) {
          if (dropsResponse) {
            cuts.incrementAndGet();
            end(true);
            return;
          }
          awaitOpen(false);
          out.write(buffer, 0, n);
        }
        awaitOpen(false);
      } catch (IOException | InterruptedException _) {
        // ended below
      }
      end(false);
    }

    void end(boolean reset) {
      lines.remove(this);
      close(client, reset);
      close(server, reset);
    }
  }
}
