package carillon.chaos.load;

import carillon.chaos.cluster.Cluster;
import carillon.chaos.cluster.HarnessThread;
import carillon.chaos.cluster.Node;
import carillon.chaos.cluster.Request;
import carillon.chaos.history.Fields;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;

/**
 * A target that kills the calling node for poison tasks and accepts all others. It sends no
 * response before the first kill, so that every task is in flight then. With held responses it
 * sends none after the kill either, until they are released.
 */
public final class PoisonTarget implements AutoCloseable {

  /** Bounds the trial of a program that never detects the poison task. */
  public static final int MAX_KILLS = 5;

  private static final String POISON = "/poison";
  private static final long TASK_MILLIS = 200;

  /**
   * How long a poison task waits before it kills its node. Tasks that start together arrive within
   * this time, and none of them gets a response any more: the kill must hit every task that ran
   * together with the poison task.
   */
  private static final long KILL_DELAY_MILLIS = 500;

  private static final byte[] ANSWER =
      "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
          .getBytes(StandardCharsets.US_ASCII);

  private final Cluster cluster;
  private final Node node;
  private final ServerSocket server;
  private final Set<String> seen = ConcurrentHashMap.newKeySet();
  private final CountDownLatch firstKill = new CountDownLatch(1);
  private final CountDownLatch answers;
  private volatile int doomed = -1; // the life of the node that a poison task is about to kill
  private int kills; // guarded by this

  private PoisonTarget(Cluster cluster, boolean holdsResponses) throws IOException {
    this.cluster = cluster;
    this.answers = new CountDownLatch(holdsResponses ? 1 : 0);
    this.node = cluster.nodes().getFirst();
    this.server = new ServerSocket(0, 1024, InetAddress.ofLiteral("127.0.0.1"));
    HarnessThread.start(cluster.recorder(), "poison-target", this::accept);
  }

  public static PoisonTarget start(Cluster cluster) throws IOException {
    return new PoisonTarget(cluster, false);
  }

  /** Starts a target that holds its responses until {@link #answer}. */
  public static PoisonTarget holding(Cluster cluster) throws IOException {
    return new PoisonTarget(cluster, true);
  }

  public void answer() {
    answers.countDown();
  }

  /** The fields of a task for this target, poison or not. */
  public String fields(boolean isPoison) {
    return ", \"target\": {\"http\": {\"url\": \"http://127.0.0.1:%d%s\"}}, \"retry\": %s"
        .formatted(
            server.getLocalPort(), isPoison ? POISON : "/innocent", Load.retry(Load.MAX_ATTEMPTS));
  }

  /** How many tasks have called this target. */
  public int seen() {
    return seen.size();
  }

  public synchronized int kills() {
    return kills;
  }

  /**
   * Kills the node for the first time, so that every task in flight counts a crash, including the
   * poison task.
   */
  public void killFirst(String poison) throws IOException, InterruptedException {
    kill(poison, node.lives());
  }

  private void accept() {
    try {
      while (true) {
        Socket socket = server.accept();
        HarnessThread.start(cluster.recorder(), "poison-connection", () -> serve(socket));
      }
    } catch (IOException _) {
      // closed
    }
  }

  private void serve(Socket socket) {
    try (socket) {
      Request request = Request.read(socket.getInputStream());
      if (request == null) {
        return;
      }
      int life = node.lives();
      String task = request.header("carillon-task-id");
      seen.add(task);
      cluster
          .recorder()
          .event(
              "poison-call",
              Fields.of("task", task).and("fence", request.number("carillon-fence")));
      firstKill.await();
      if (request.path().equals(POISON) && request.number("carillon-attempt") > 1) {
        doomed = life;
        Thread.sleep(KILL_DELAY_MILLIS);
        kill(task, life);
        doomed = -1; // kill spares the node once MAX_KILLS is reached
      }
      answers.await();
      Thread.sleep(TASK_MILLIS);
      if (doomed == life) {
        Thread.sleep(2 * KILL_DELAY_MILLIS); // the node is dead by then
        return;
      }
      socket.getOutputStream().write(ANSWER);
    } catch (IOException _) {
      // the node closed the connection or crashed
    } catch (InterruptedException _) {
      Thread.currentThread().interrupt();
    }
  }

  private void kill(String task, int life) throws IOException, InterruptedException {
    Fields fault;
    synchronized (this) {
      if (node.lives() != life || kills == MAX_KILLS) {
        return;
      }
      fault = Fields.of("fault", "kill9").and("id", "poison-" + kills).and("node", node.label());
      cluster.recorder().event("fault-start", fault);
      cluster.recorder().event("poison-kill", Fields.of("task", task).and("node", node.label()));
      kills++;
      node.kill9();
      firstKill.countDown(); // before the next attempts arrive
      node.start();
    }
    // Not under the lock: the node runs tasks before it is ready, and they may kill it again.
    cluster.awaitReady(node);
    cluster.recorder().event("fault-end", fault);
  }

  @Override
  public void close() throws IOException {
    server.close();
  }
}
