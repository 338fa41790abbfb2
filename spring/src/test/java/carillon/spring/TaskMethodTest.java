package carillon.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import carillon.client.ClaimedTask;
import carillon.client.DeadTask;
import carillon.client.TaskContext;
import java.time.Instant;
import java.util.List;
import java.util.UUID;
import org.aopalliance.intercept.MethodInterceptor;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.springframework.aop.framework.ProxyFactory;
import org.springframework.beans.factory.support.DefaultListableBeanFactory;
import org.springframework.beans.factory.support.RootBeanDefinition;
import tools.jackson.databind.node.NullNode;

class TaskMethodTest {

  private final DefaultListableBeanFactory beans = new DefaultListableBeanFactory();

  @Test
  void a_method_receives_its_parameters_in_their_order() throws Exception {
    register(new Handlers());

    assertThat(call("context-first", "data")).isEqualTo("data in attempt 3");
    assertThat(call("payload-only", "data")).isEqualTo("data");
    assertThat(call("nothing", null)).isNull();
  }

  @Test
  void an_exception_of_a_method_is_not_wrapped() {
    register(new Handlers());

    assertThatThrownBy(() -> call("hopeless", null)).isExactlyInstanceOf(DeadTask.class);
  }

  @Test
  void a_proxied_bean_is_called_through_its_proxy() throws Exception {
    int[] calls = {0};
    var proxy = new ProxyFactory(new Handlers());
    proxy.setProxyTargetClass(true);
    proxy.addAdvice(
        (MethodInterceptor)
            invocation -> {
              calls[0]++;
              return invocation.proceed();
            });
    register((Handlers) proxy.getProxy());

    assertThat(call("payload-only", "data")).isEqualTo("data");

    assertThat(calls[0]).isEqualTo(1);
  }

  @Test
  void finding_methods_creates_no_bean() {
    beans.registerBeanDefinition(
        "handlers",
        new RootBeanDefinition(
            Handlers.class,
            () -> {
              throw new AssertionError("created");
            }));

    List<TaskMethod> found = new TaskMethods(beans).find();

    assertThat(found)
        .extracting(TaskMethod::type)
        .containsExactly("context-first", "hopeless", "nothing", "payload-only");
  }

  private void register(Handlers bean) {
    beans.registerBeanDefinition("handlers", new RootBeanDefinition(Handlers.class, () -> bean));
  }

  private @Nullable Object call(String type, @Nullable Object payload) throws Exception {
    return new TaskMethods(beans)
        .find().stream()
            .filter(method -> method.type().equals(type))
            .findFirst()
            .orElseThrow()
            .call(payload, new Attempt());
  }

  static class Handlers {
    @CarillonTask("context-first")
    String contextFirst(TaskContext context, String payload) {
      return payload + " in attempt " + context.attempt();
    }

    @CarillonTask("payload-only")
    String payloadOnly(String payload) {
      return payload;
    }

    @CarillonTask("nothing")
    void nothing() {}

    @CarillonTask("hopeless")
    void hopeless() {
      throw new DeadTask("no use");
    }
  }

  private record Attempt() implements TaskContext {

    @Override
    public ClaimedTask task() {
      return new ClaimedTask(
          new UUID(0, 1),
          "t",
          null,
          3,
          3,
          Instant.EPOCH,
          NullNode.instance,
          null,
          null,
          null,
          null);
    }

    @Override
    public <T> T payload(Class<T> type) {
      throw new AssertionError("the worker reads payloads");
    }

    @Override
    public @Nullable Instant leaseUntil() {
      return null;
    }

    @Override
    public void progress(String text) {}

    @Override
    public boolean isCancelled() {
      return false;
    }

    @Override
    public void onCancel(Runnable action) {}

    @Override
    public boolean isStale() {
      return false;
    }

    @Override
    public RuntimeException release() {
      return new IllegalStateException("released");
    }
  }
}
